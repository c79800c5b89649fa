export { GeneralPage } from "./GeneralPage";
