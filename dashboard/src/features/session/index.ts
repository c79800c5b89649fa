export { SessionPage } from "./SessionPage";
