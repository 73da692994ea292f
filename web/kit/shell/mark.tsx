import { css, MARK } from '@shopwire/look'

/** The sign of the product, in the ink of the page. */
export const Mark = ({ size = MARK.box }: { readonly size?: number }) => (
  <svg viewBox={`0 0 ${MARK.box} ${MARK.box}`} width={size} height={size} aria-hidden>
    <rect width={MARK.box} height={MARK.box} rx={MARK.radius} fill={css('ink')} />
    <path
      d={MARK.wire}
      fill="none"
      stroke={css('canvas')}
      strokeWidth={MARK.strokeWidth}
      strokeLinecap="round"
    />
  </svg>
)
