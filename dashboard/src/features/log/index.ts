export { LogView } from "./LogView";
export { parseLines } from "./window";
