export { SetUp } from "./SetUp";
export { SignIn } from "./SignIn";
export { Welcome } from "./Welcome";
