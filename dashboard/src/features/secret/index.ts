export { SecretList } from "./SecretList";
export { SecretPage } from "./SecretPage";
