export { FreezePage } from "./FreezePage";
