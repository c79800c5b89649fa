alter table deployments drop column replan;
