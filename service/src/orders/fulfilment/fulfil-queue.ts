/** The queue of paid orders that wait for their links. */
export const FULFIL_QUEUE = 'fulfil'
