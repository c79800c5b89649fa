export { AllBoard } from "./AllBoard";
export { Board } from "./Board";
export { DeployAnywhere } from "./DeployAnywhere";
export { CleanupBar, EnvironmentPage } from "./pages";
