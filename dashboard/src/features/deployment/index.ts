export { DeploymentList } from "./DeploymentList";
export { DeploymentPage } from "./DeploymentPage";
