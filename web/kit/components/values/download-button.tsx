import { Button } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'

interface DownloadButtonProps {
  /** api.href(…): the browser streams the file to disk; it is never held in memory. */
  readonly href: string
  readonly label: string
  readonly fileName?: string
  readonly isFilled?: boolean
}

export function DownloadButton({ href, label, fileName, isFilled = false }: DownloadButtonProps) {
  return (
    <Button
      component="a"
      href={href}
      download={fileName ?? true}
      variant={isFilled ? 'filled' : 'default'}
      leftSection={<IconDownload size={14} aria-hidden />}
    >
      {label}
    </Button>
  )
}
