export { RegistryList } from "./RegistryList";
export { RegistryPage } from "./RegistryPage";
export { StepPage } from "./StepPage";
