export { MemberPage } from "./MemberPage";
