// An id is opaque to a caller. Its form is fixed here because some of it carries weight: a proxy routes by the cell in
// a key id, and an event id without a dot keeps the signed text of a webhook from being read in two ways.

/** Lower-case Crockford base32: no i, l, o or u, so nothing is misread or spells a word. */
const RANDOM_PART = '[0-9a-hjkmnp-tv-z]{26}'

export const ORDER_ID_PATTERN = `^ord_${RANDOM_PART}$`
export const EVENT_ID_PATTERN = `^evt_${RANDOM_PART}$`
/** `key_<cell>_<random>` */
export const KEY_ID_PATTERN = `^key_[a-z0-9]{1,16}_${RANDOM_PART}$`
