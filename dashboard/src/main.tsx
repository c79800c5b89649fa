import "./styles/fonts.css";
import "./styles/main.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/app/App";
import { apply, watchPreferences } from "@/lib/preferences";

apply();
watchPreferences();

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
