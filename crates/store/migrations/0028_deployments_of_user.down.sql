drop index deployments_of_user;
