import { css } from '@shopwire/look'
import { useMemo } from 'react'
import { encode } from 'uqr'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { identity } from '../strings/identity.ts'
import { CodeForm } from './code-form.tsx'
import classes from './session.module.css'

interface TotpSetupProps {
  readonly uri: string
  readonly secret: string
  readonly onConfirm: (code: string) => Promise<unknown>
}

/** The secret as a picture and as text, and the code that shows that the app has it. */
export function TotpSetup({ uri, secret, onConfirm }: TotpSetupProps) {
  return (
    <div className={classes.form}>
      <p>{identity.totp.scan}</p>
      <div className={classes.qr}>
        <QrCode text={uri} label={identity.totp.qr} />
      </div>
      <div className={classes.secret}>
        {identity.totp.cannotScan}
        <div className={classes.secretText}>
          {secret}
          <CopyButton text={secret} what="secret" />
        </div>
      </div>
      <CodeForm onTotp={onConfirm} submit={identity.totp.confirm} />
    </div>
  )
}

/** One path of squares: no canvas, no data: URI, nothing for the policy to refuse. */
function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, path } = useMemo(() => {
    const { data, size } = encode(text, { ecc: 'M', border: 0 })
    const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    return { size, path: squares.join('') }
  }, [text])
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      width={180}
      height={180}
      shapeRendering="crispEdges"
      role="img"
      aria-label={label}
    >
      <path d={path} fill={css('qrInk')} />
    </svg>
  )
}
