alter table environments drop column max_stay_seconds;
alter table sessions drop column stay_seconds;
