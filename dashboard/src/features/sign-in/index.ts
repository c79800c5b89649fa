export { SignIn } from "./SignIn";
export { Welcome } from "./Welcome";
