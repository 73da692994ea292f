// An id is opaque to a caller. Its format is fixed here because other parts rely on it: a proxy routes by the cell in
// a key id, and without a dot in the event id the signed text of a webhook can be split in only one way.

/** Lower-case Crockford base32: no i, l, o or u, so ids are not misread and spell no words. */
const RANDOM_PART = '[0-9a-hjkmnp-tv-z]{26}'

export const ORDER_ID_PATTERN = `^ord_${RANDOM_PART}$`
export const EVENT_ID_PATTERN = `^evt_${RANDOM_PART}$`
/** `key_<cell>_<random>` */
export const KEY_ID_PATTERN = `^key_[a-z0-9]{1,16}_${RANDOM_PART}$`
