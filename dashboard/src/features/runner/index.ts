export { RunnerPage } from "./RunnerPage";
