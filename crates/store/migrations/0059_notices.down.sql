drop index sessions_of_person;
alter table memberships drop column notices_read_at;
