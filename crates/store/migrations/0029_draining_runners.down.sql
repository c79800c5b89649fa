alter table runners drop column draining;
