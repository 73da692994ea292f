import { CodeWell } from '#kit/components/values/code-well.tsx'
import { Steps } from '#kit/components/values/timeline.tsx'
import { webhook as text } from '../../strings/webhook.ts'
import { UrlForm } from './url-form.tsx'
import classes from './webhook.module.css'

const { setup } = text

interface SetUpProps {
  readonly canBuild: boolean
  readonly onSecret: (secret: string) => void
}

/** Before the first URL: the three steps are the page. */
export function SetUp({ canBuild, onSecret }: SetUpProps) {
  return (
    <>
      <Steps
        label={setup.url}
        steps={[
          {
            key: 'url',
            state: 'now',
            title: setup.url,
            children: (
              <>
                <p className={classes.step}>{setup.urlBody}</p>
                {canBuild ? (
                  <UrlForm isFirst onSecret={onSecret} />
                ) : (
                  <p className={classes.step}>{setup.noRole}</p>
                )}
              </>
            ),
          },
          {
            key: 'secret',
            state: 'later',
            title: setup.secret,
            children: <p className={classes.step}>{setup.secretBody}</p>,
          },
          {
            key: 'test',
            state: 'later',
            title: setup.test,
            children: <p className={classes.step}>{setup.testBody}</p>,
          },
        ]}
      />
      <section className={classes.tip}>
        <h2 className={classes.tipTitle}>{setup.tipTitle}</h2>
        <p className={classes.step}>{setup.tip}</p>
        <CodeWell
          code="npx @shopwire/cli listen --forward-to localhost:3000/hooks"
          language="sh"
          what="command"
        />
      </section>
    </>
  )
}
