export { AccountList } from "./AccountList";
export { AccountPage } from "./pages";
