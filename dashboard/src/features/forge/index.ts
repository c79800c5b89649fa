export { ForgePage } from "./ForgePage";
