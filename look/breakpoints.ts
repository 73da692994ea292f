/**
 * Where a page changes its shape. In the style sheets of web/: `@media (--phone)`; in scripts: `useMediaQuery(media.phone)`. Every name
 * but the last two means "at most this wide".
 */
export const media = {
  /** One figure beside another no longer fits. */
  narrow: '(max-width: 479px)',
  /** Lists become rows of two lines, the rail a drawer, panels a page. */
  phone: '(max-width: 759px)',
  /** Columns of a page come below each other. */
  tablet: '(max-width: 1023px)',
  /** Ids are cut, sums wrap. */
  laptop: '(max-width: 1279px)',
  /** Beside an open panel the page keeps its own width. */
  desk: '(min-width: 1280px)',
  /** Rail, page and panel together end before the window does. */
  wide: '(min-width: 2010px)',
} as const

export type Breakpoint = keyof typeof media
