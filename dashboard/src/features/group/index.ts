export { GroupList } from "./GroupList";
export { GroupPage } from "./GroupPage";
