export { LastingTable } from "./LastingTable";
export { LastingPage } from "./pages";
