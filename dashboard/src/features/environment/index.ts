export { AllBoard } from "./AllBoard";
export { Board } from "./Board";
export { CleanupBar } from "./CleanupBar";
export { DeployAnywhere } from "./DeployAnywhere";
export { EnvironmentPage } from "./pages";
