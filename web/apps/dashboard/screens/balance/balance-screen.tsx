import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Page } from '#kit/components/feedback/page.tsx'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import { DownloadButton } from '#kit/components/values/download-button.tsx'
import { useUrlState } from '#lib/url-state.ts'
import { api } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { balance } from '../../strings/balance.ts'
import { AlertDialog } from './alert-dialog.tsx'
import classes from './balance.module.css'
import { BalanceChart } from './balance-chart.tsx'
import { BalanceNow } from './balance-now.tsx'
import { MonthSection } from './month-section.tsx'
import { isMonth, presentMonth, shortMonth } from './months.ts'
import { statementQuery } from './statement-filters.ts'
import { StatementTable } from './statement-table.tsx'
import { TopUpDialog } from './top-up-dialog.tsx'
import { TopUpNotice } from './top-up-notice.tsx'
import { TopUpsSection } from './top-ups-section.tsx'

/** The balance, the month as an equation, and every entry of it. */
export function BalanceScreen({ isAdding = false }: { readonly isAdding?: boolean }) {
  const [{ month: asked }] = useUrlState()
  const navigate = useNavigate()
  const canPay = useMay(may.pay)
  const [isSettingAlert, setSettingAlert] = useState(false)
  const [instructionsOf, showInstructions] = useState<string>()
  const month = isMonth(asked) ? asked : undefined
  const { data, error, refetch } = useRead('getBalance', { query: { month } }, { keepPrevious: true })
  // Read ahead, so that the dialog opens with its fields.
  useRead('getFunding', undefined, { enabled: canPay })
  const closeDialog = () => {
    showInstructions(undefined)
    if (isAdding) void navigate({ to: paths.balance, search: true as never, replace: true })
  }
  // The service decides which month it is; until it has answered, the browser's clock does, so that the rows need not wait.
  const shown = data?.month.month ?? month ?? presentMonth()
  const addFunds = () => void navigate({ to: paths.topUp, search: true as never })
  return (
    <Page
      title={balance.title}
      meta={balance.meta}
      actions={<BalanceActions month={shown} onAdd={canPay ? addFunds : undefined} />}
    >
      <TopUpNotice onAgain={addFunds} />
      {error && !data ? (
        <ErrorState what={balance.what} error={error} onRetry={() => void refetch()} />
      ) : (
        <>
          <div className={classes.head}>
            <BalanceNow view={data} onSetAlert={() => setSettingAlert(true)} canSetAlert={canPay} />
            <BalanceChart />
          </div>
          <MonthSection month={shown} view={data}>
            <StatementTable
              month={shown}
              hasMoney={(data?.balance_cents ?? 0) > 0}
              onAdd={canPay ? addFunds : undefined}
            />
          </MonthSection>
        </>
      )}
      <TopUpsSection onInstructions={showInstructions} />
      <AlertDialog isOpen={isSettingAlert} onClose={() => setSettingAlert(false)} view={data} />
      <TopUpDialog
        isOpen={isAdding || instructionsOf !== undefined}
        topUpId={instructionsOf}
        onClose={closeDialog}
        view={data}
      />
    </Page>
  )
}

interface BalanceActionsProps {
  readonly month: string
  /** Undefined: the reader may not. */
  readonly onAdd: (() => void) | undefined
}

function BalanceActions({ month, onAdd }: BalanceActionsProps) {
  const [url] = useUrlState()
  return (
    <>
      <DownloadButton
        href={api.href('exportStatement', { query: statementQuery(url, month) })}
        label={balance.exportCsv}
      />
      <DownloadButton
        href={api.href('statementPdf', { query: { month } })}
        label={balance.pdfOf(shortMonth(month))}
      />
      <Button
        variant="filled"
        leftSection={<IconPlus size={14} aria-hidden />}
        onClick={onAdd}
        disabled={!onAdd}
        title={onAdd ? undefined : balance.topUp.onlyTreasurers}
      >
        {balance.addFunds}
      </Button>
    </>
  )
}

export const TopUpScreen = () => <BalanceScreen isAdding />
