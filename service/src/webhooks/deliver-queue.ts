/** The queue of endpoints that have events to be delivered. */
export const DELIVER_QUEUE = 'deliver'
