import '#kit/theme/layers.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from '#client/query-client.ts'
import { theme } from '#kit/theme/theme.ts'
import { sessionQuery } from './api/session.ts'
import { router } from './router.tsx'
import '@shopwire/look/fonts.css'
import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import '@mantine/spotlight/styles.layer.css'
import '#kit/theme/variables.css'
import '@shopwire/look/print.css'
import '#kit/theme/base.css'

// Everything waits for this answer, so it is asked before React has even started.
void queryClient.prefetchQuery(sessionQuery)

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no element "root"')
createRoot(root).render(
  <StrictMode>
    {/* Mantine writes no style element: the policy refuses it, and theme/variables.css has the same. */}
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" limit={4} />
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
