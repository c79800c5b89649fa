// Sets the theme and the density before the first paint. It is a blocking script and a file of its own,
// because the content security policy forbids inline scripts. `src/lib/preferences.ts` writes the values.
(function () {
  var root = document.documentElement;
  var dark = matchMedia("(prefers-color-scheme: dark)").matches;
  var theme = "system";
  var density = "auto";
  try {
    theme = localStorage.getItem("greenroom.theme") || theme;
    density = localStorage.getItem("greenroom.density") || density;
  } catch {
    // Storage is blocked: the defaults apply.
  }
  root.dataset.theme = theme === "light" || theme === "dark" ? theme : dark ? "dark" : "light";
  root.dataset.density = density === "compact" || density === "comfortable" ? density : "auto";
})();
