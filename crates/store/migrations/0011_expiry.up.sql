-- Logs and artifacts go when their time is over; the deployment itself stays, and says when that was.
alter table deployments add column expired_at timestamptz;
create index deployments_to_expire on deployments (ended_at) where ended_at is not null and expired_at is null;
