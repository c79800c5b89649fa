export { Fixes } from "./Fixes";
export { ProposeButton } from "./ProposeButton";
