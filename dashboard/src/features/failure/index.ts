export { FailureList } from "./FailureList";
export { FailurePage } from "./FailurePage";
export { FailurePanel } from "./FailurePanel";
