export { AccountTokens } from "./AccountTokens";
export { TokenPage } from "./TokenPage";
