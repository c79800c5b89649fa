export { ApprovalList } from "./ApprovalList";
export { ApprovalPage } from "./ApprovalPage";
export { ApprovalPanel } from "./ApprovalPanel";
export { FreezeOverride } from "./FreezeOverride";
