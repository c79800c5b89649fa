// Texts that try to become more than text. Each one that works leaves a trace: it sets `window.hostile`, opens a
// dialog, creates an element with the attribute `data-hostile`, sends a request, or becomes a link.

const RUN = "window.hostile=1";

const HTML = [
  `<script data-hostile>${RUN}</script>`,
  `</script><script data-hostile>${RUN}</script>`,
  `<img data-hostile src=x onerror=${RUN}>`,
  `<svg data-hostile onload=${RUN}>`,
  `<svg><a data-hostile xlink:href="javascript:${RUN}"><text>x</text></a></svg>`,
  `<svg><animate data-hostile onbegin=${RUN} attributeName=x>`,
  `<iframe data-hostile srcdoc="<script>parent.${RUN}</script>">`,
  `<iframe data-hostile src="javascript:parent.${RUN}"></iframe>`,
  `<body data-hostile onload=${RUN}>`,
  `<input data-hostile autofocus onfocus=${RUN}>`,
  `<details data-hostile open ontoggle=${RUN}>`,
  `<video data-hostile><source onerror=${RUN}></video>`,
  `<math><mtext><img data-hostile src=x onerror=${RUN}>`,
  `<style data-hostile>*{display:none}</style>`,
  `<link data-hostile rel=stylesheet href=//evil.test/x.css>`,
  `<base data-hostile href=//evil.test/>`,
  `<meta data-hostile http-equiv=refresh content="0;url=//evil.test">`,
  `<form data-hostile action=//evil.test><button>Sign in</button>`,
  `<object data-hostile data=//evil.test></object>`,
  `<a data-hostile href="javascript:${RUN}">x</a>`,
  `<!--<img data-hostile src=x onerror=${RUN}>-->`,
  `<noscript><p title="</noscript><img data-hostile src=x onerror=${RUN}>">`,
  `<template><img data-hostile src=x onerror=${RUN}></template>`,
  `<ScRiPt data-hostile>${RUN}</sCrIpT>`,
  `<img/data-hostile/src=x/onerror=${RUN}//`,
  `&lt;img data-hostile src=x onerror=${RUN}&gt;`,
  `&#60;script data-hostile&#62;${RUN}&#60;/script&#62;`,
  `\\u003cscript data-hostile\\u003e${RUN}\\u003c/script\\u003e`,
  `%3Cscript data-hostile%3E${RUN}%3C/script%3E`,
  `]]><script data-hostile>${RUN}</script>`,
];

const ATTRIBUTES = [
  `" data-hostile onmouseover="${RUN}`,
  `' data-hostile onfocus='${RUN}' autofocus='`,
  `"><img data-hostile src=x onerror=${RUN}>`,
  `'><img data-hostile src=x onerror=${RUN}>`,
  "` data-hostile onclick=`" + RUN,
  `x" style="position:fixed;inset:0" data-hostile="`,
];

const LINKS = [
  `javascript:${RUN}`,
  `JaVaScRiPt:${RUN}`,
  `javascript://%0a${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `vbscript:${RUN}`,
  `[x](javascript:${RUN})`,
  `![x](http://evil.test/x.png)`,
  `<javascript:${RUN}>`,
  "//evil.test/x",
  `http://evil.test/" data-hostile onmouseover="${RUN}`,
];

const TEMPLATES = [
  `{{constructor.constructor('${RUN}')()}}`,
  "${" + RUN + "}",
  `#{${RUN}}`,
  `<%= ${RUN} %>`,
  `{%raw%}${RUN}{%endraw%}`,
  `%s %d %o %c`,
  "__proto__",
  "constructor",
  "toString",
  '{"__proto__":{"hostile":1}}',
  "');" + RUN + "//",
  `";${RUN}//`,
  "' OR 1=1 --",
  "../../../etc/passwd",
  "$(touch /tmp/hostile)",
  "null",
  "undefined",
];

const WIDE = [
  "x".repeat(100),
  "W".repeat(90),
  "\u{1F9E8}".repeat(50),
  "a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u030a\u030b".repeat(8),
  "\u05d0\u05d1\u05d2 123 abc",
  "\ufdfd".repeat(20),
];

/** Short enough, and free of characters that the API rejects, to be the name of anything. */
export const HOSTILE_NAMES: readonly string[] = [...HTML, ...ATTRIBUTES, ...LINKS, ...TEMPLATES, ...WIDE].map((text) =>
  [...text].slice(0, 100).join(""),
);

/** Characters that change the direction of writing, or break lines and terminals. The API rejects them in names. */
export const HIDDEN_NAMES: readonly string[] = [
  "\u202eadmin",
  "a\u2066b\u2069",
  "a\u061cb",
  "a\u200fb",
  "\u001b[31mred",
  "a\u0000b",
  "a\nb",
  "a\u009bb",
];

/** Characters that are not displayed. The API rejects them in names, and accepts them in texts. */
export const INVISIBLE_NAMES: readonly string[] = ["admin\u200b\u200c\u2060\ufeff1", "ad\u00admin"];

const TERMINAL = [
  "\u001b]8;;javascript:window.hostile=1\u0007click\u001b]8;;\u0007",
  "\u001b]8;;http://evil.test\u001b\\click\u001b]8;;\u001b\\",
  "\u001b]0;title\u0007title of the window",
  "\u001b]52;c;aG9zdGlsZQ==\u0007clipboard",
  "\u001b]1337;File=inline=1:AAAA\u0007image",
  "\u001b]8;;unfinished",
  "\u001bPq#0;2;0;0;0#0~~@@vv@@~~\u001b\\sixel",
  "\u001b^private\u001b\\ \u001b_application\u001b\\",
  "\u001b[2J\u001b[Hclear",
  "\u001b[?1049h\u001b[6nalternate",
  "\u001b[31;1m<b data-hostile>red</b>\u001b[0m",
  '\u001b[38;2;1;2;3m" data-hostile style="x\u001b[0m',
  "\u001b[999999999999999999m\u001b[;;;;;;m\u001b[38;5m",
  "\u001bc\u001b#8reset",
  "\u009b31mred\u009d8;;javascript:window.hostile=1\u009cclick",
  "good\rbad\r<i data-hostile>last</i>",
  "\b\b\b\u007f\u0007\u0000\u000b\u000c",
  "access\u202elevel\u202c \u2066isolated\u2069 \u061cmark \u200e\u200f",
  "ad\u200bmin\u2060\ufeff\u00ad",
  "\u2028line\u2029paragraph",
  "\ufff9annotation\ufffa\ufffb",
  "\u{e0061}\u{e0062}tags",
  `<img data-hostile src=x onerror=window.hostile=1>${"y".repeat(20_000)}`,
  "https://evil.test/\u202egnp.exe",
  "http://localhost:1/<script data-hostile>window.hostile=1</script>",
];

/** What a step prints: 200 lines. */
export const HOSTILE_LINES: readonly string[] = [
  ...TERMINAL,
  ...[...HTML, ...ATTRIBUTES, ...LINKS, ...TEMPLATES, ...WIDE].flatMap((text) => [
    text,
    `\u001b[1;3${text.length % 8}m${text}`,
    `2026-11-16T10:00:00Z ERROR ${text}\u001b[0m`,
  ]),
].slice(0, 200);

/** A shell command that prints these lines, whatever bytes they contain. */
export function printCommand(lines: readonly string[]): string {
  const octal = (byte: number) => `\\${byte.toString(8).padStart(3, "0")}`;
  const isPlain = (byte: number) => /[A-Za-z0-9]/.test(String.fromCharCode(byte));
  return lines
    .map((line) =>
      [...Buffer.from(`${line}\n`)].map((byte) => (isPlain(byte) ? String.fromCharCode(byte) : octal(byte))),
    )
    .map((bytes) => `printf '${bytes.join("")}'`)
    .join("\n");
}
