/** The queue of mail. The subject of a job is the id of the mail that it sends. */
export const MAIL_QUEUE = 'mail'
/** As many at a time as there are connections to the mail server. */
export const MAIL_SLOTS = 5
