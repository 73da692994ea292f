-- compatible-with: 40
-- Audit rows are written by a function that compares their actor with the login (service/functions/platform/write_audit_row.sql).
-- The dashboard's role keeps the right to insert, bound by row-level security, and shopwire_app its own: programs of the release before use them.

grant insert on audit_log to shopwire_functions;
revoke insert on audit_log from shopwire_worker_rights, shopwire_operator_rights;
