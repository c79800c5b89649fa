-- Sessions get a zone of their own. Caches that are open could be written by sessions until now.
alter table caches drop constraint caches_zone_check;
alter table caches add constraint caches_zone_check check (zone in ('protected', 'open', 'session'));
update caches set zone = 'session' where zone = 'open';
