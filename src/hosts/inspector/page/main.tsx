import { render } from "preact";
import { App } from "./app.tsx";
import "./style/page.css";

if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
else start();

function start(): void {
  render(<App />, document.getElementById("app") ?? document.body);
}
