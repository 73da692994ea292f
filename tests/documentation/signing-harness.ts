/**
 * How the signing examples of the docs are run in their own language. A harness reads one request per line, its fields in base64 with
 * tabs between them (secret, method, target, timestamp, nonce, body), and prints one signature per line.
 */
export interface Harness {
  /** All of them have to be on the machine. */
  readonly needs: readonly string[]
  /** Where the block from the page goes. */
  readonly example: string
  readonly files: Readonly<Record<string, string>>
  /** For bash, in the folder of the files. */
  readonly command: string
}

export const harnesses: Readonly<Record<string, Harness>> = {
  js: {
    needs: ['node'],
    example: 'sign.mjs',
    files: {
      'main.mjs': `import { createInterface } from 'node:readline'
import { sign } from './sign.mjs'
for await (const line of createInterface({ input: process.stdin })) {
  const [secret, method, target, timestamp, nonce, body] = line.split('\\t').map((field) => Buffer.from(field, 'base64'))
  process.stdout.write(sign(String(secret), String(method), String(target), String(timestamp), String(nonce), body) + '\\n')
}`,
    },
    command: 'node main.mjs',
  },
  python: {
    needs: ['python3'],
    example: 'sign.py',
    files: {
      'main.py': `import base64, sys
from sign import sign
for line in sys.stdin:
    *text, body = [base64.b64decode(field) for field in line.rstrip("\\n").split("\\t")]
    print(sign(*[field.decode() for field in text], body))`,
    },
    command: 'python3 main.py',
  },
  go: {
    needs: ['go'],
    example: 'sign.go',
    files: {
      'main.go': `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f []string
		for _, field := range strings.Split(lines.Text(), "\\t") {
			bytes, _ := base64.StdEncoding.DecodeString(field)
			f = append(f, string(bytes))
		}
		fmt.Println(Sign(f[0], f[1], f[2], f[3], f[4], []byte(f[5])))
	}
}`,
    },
    command: 'GOCACHE="$PWD/cache" GOFLAGS= GO111MODULE=off go run sign.go main.go',
  },
  php: {
    needs: ['php'],
    example: 'sign.php',
    files: {
      'main.php': `<?php
require 'sign.php';
while (($line = fgets(STDIN)) !== false) {
    echo sign(...array_map('base64_decode', explode("\\t", rtrim($line, "\\n")))), "\\n";
}`,
    },
    command: 'php main.php',
  },
  ruby: {
    needs: ['ruby'],
    example: 'sign.rb',
    files: {
      'main.rb': `require_relative 'sign'
$stdin.each_line do |line|
  *text, body = line.chomp.split("\\t", -1).map { |field| field.unpack1('m') }
  puts sign(*text.map { |field| field.force_encoding('UTF-8') }, body)
end`,
    },
    command: 'ruby main.rb',
  },
  java: {
    needs: ['javac', 'java'],
    example: 'Signing.java',
    files: {
      'Main.java': `import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Scanner;

class Main {
    public static void main(String[] args) throws Exception {
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] f = lines.nextLine().split("\\t", -1);
            byte[][] b = new byte[6][];
            for (int i = 0; i < 6; i++) b[i] = Base64.getDecoder().decode(f[i]);
            String[] s = new String[5];
            for (int i = 0; i < 5; i++) s[i] = new String(b[i], StandardCharsets.UTF_8);
            System.out.println(Signing.sign(s[0], s[1], s[2], s[3], s[4], b[5]));
        }
    }
}`,
    },
    command: 'javac -d . Signing.java Main.java && java -cp . Main',
  },
  sh: {
    needs: ['bash', 'openssl', 'base64'],
    example: 'sign.sh',
    files: {
      'main.sh': `. ./sign.sh
decoded() { printf '%s' "$1" | base64 -d; }
while IFS=$'\\t' read -r secret method target timestamp nonce body; do
  decoded "$body" | sign "$(decoded "$secret")" "$(decoded "$method")" "$(decoded "$target")" "$(decoded "$timestamp")" "$(decoded "$nonce")"
done`,
    },
    command: 'bash main.sh',
  },
}

/**
 * The same for a receiver, which prints true or false. The fields of a line are now, body, timestamp, id, signature, previous signature and
 * then the secrets, in base64; `-` is a header that was not sent.
 */
export const receiverHarnesses: Readonly<Record<string, Harness>> = {
  js: {
    needs: ['node'],
    example: 'verify.mjs',
    files: {
      'main.mjs': `import { createInterface } from 'node:readline'
import { verify } from './verify.mjs'
const names = ['timestamp', 'id', 'signature', 'signature-previous']
for await (const line of createInterface({ input: process.stdin })) {
  const fields = line.split('\\t')
  const [now, body, ...rest] = fields.map((field) => Buffer.from(field, 'base64'))
  const given = names.flatMap((name, at) => (fields[at + 2] === '-' ? [] : [['x-webhook-' + name, String(rest[at])]]))
  process.stdout.write(verify(rest.slice(4).map(String), Object.fromEntries(given), body, Number(now)) + '\\n')
}`,
    },
    command: 'node main.mjs',
  },
  python: {
    needs: ['python3'],
    example: 'verify.py',
    files: {
      'main.py': `import base64, sys
from verify import verify
names = ["timestamp", "id", "signature", "signature-previous"]
for line in sys.stdin:
    fields = line.rstrip("\\n").split("\\t")
    now, body, *rest = [b"" if field == "-" else base64.b64decode(field) for field in fields]
    headers = {"x-webhook-" + name: rest[at].decode() for at, name in enumerate(names) if fields[at + 2] != "-"}
    print("true" if verify([one.decode() for one in rest[4:]], headers, body, int(now)) else "false")`,
    },
    command: 'python3 main.py',
  },
  go: {
    needs: ['go'],
    example: 'verify.go',
    files: {
      'main.go': `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
)

func main() {
	names := []string{"Timestamp", "Id", "Signature", "Signature-Previous"}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f []string
		header := http.Header{}
		for at, field := range strings.Split(lines.Text(), "\\t") {
			bytes, _ := base64.StdEncoding.DecodeString(field)
			f = append(f, string(bytes))
			if at >= 2 && at < 6 && field != "-" {
				header.Set("X-Webhook-"+names[at-2], string(bytes))
			}
		}
		now, _ := strconv.ParseInt(f[0], 10, 64)
		fmt.Println(Verify(f[6:], header, []byte(f[1]), now))
	}
}`,
    },
    command: 'GOCACHE="$PWD/cache" GOFLAGS= GO111MODULE=off go run verify.go main.go',
  },
  php: {
    needs: ['php'],
    example: 'verify.php',
    files: {
      'main.php': `<?php
require 'verify.php';
while (($line = fgets(STDIN)) !== false) {
    $fields = explode("\\t", rtrim($line, "\\n"));
    $f = array_map('base64_decode', $fields);
    $headers = [];
    foreach (['timestamp', 'id', 'signature', 'signature-previous'] as $at => $name) {
        if ($fields[$at + 2] !== '-') $headers["x-webhook-$name"] = $f[$at + 2];
    }
    echo verify(array_slice($f, 6), $headers, $f[1], (int) $f[0]) ? 'true' : 'false', "\\n";
}`,
    },
    command: 'php main.php',
  },
  ruby: {
    needs: ['ruby'],
    example: 'verify.rb',
    files: {
      'main.rb': `require_relative 'verify'
names = %w[timestamp id signature signature-previous]
$stdin.each_line do |line|
  fields = line.chomp.split("\\t", -1)
  f = fields.map { |field| field.unpack1('m') }
  given = names.each_index.reject { |at| fields[at + 2] == '-' }
  headers = given.to_h { |at| ["x-webhook-#{names[at]}", f[at + 2].force_encoding('UTF-8')] }
  puts verify(f.drop(6), headers, f[1], f[0].to_i)
end`,
    },
    command: 'ruby main.rb',
  },
  java: {
    needs: ['javac', 'java'],
    example: 'Webhooks.java',
    files: {
      'Main.java': `import java.nio.charset.StandardCharsets;
import java.util.*;

class Main {
    public static void main(String[] args) throws Exception {
        String[] names = {"timestamp", "id", "signature", "signature-previous"};
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] f = lines.nextLine().split("\\t", -1);
            Map<String, String> headers = new HashMap<>();
            for (int at = 0; at < 4; at++) if (!f[at + 2].equals("-")) headers.put("x-webhook-" + names[at], text(f[at + 2]));
            List<String> secrets = new ArrayList<>();
            for (int at = 6; at < f.length; at++) secrets.add(text(f[at]));
            System.out.println(Webhooks.verify(secrets, headers, Base64.getDecoder().decode(f[1]), Long.parseLong(text(f[0]))));
        }
    }

    static String text(String field) {
        return new String(Base64.getDecoder().decode(field), StandardCharsets.UTF_8);
    }
}`,
    },
    command: 'javac -d . Webhooks.java Main.java && java -cp . Main',
  },
  sh: {
    needs: ['bash', 'openssl', 'base64'],
    example: 'verify.sh',
    files: {
      'main.sh': `. ./verify.sh
decoded() { [[ $1 == - ]] || printf '%s' "$1" | base64 -d; }
while IFS= read -r line; do
  mapfile -t fields < <(tr '\\t' '\\n' <<<"$line")
  values=()
  for field in "\${fields[@]:2}"; do values+=("$(decoded "$field")"); done
  printf '%s' "\${fields[1]}" | base64 -d |
    verify "\${values[@]:0:4}" "$(decoded "\${fields[0]}")" "\${values[@]:4}" && echo true || echo false
done`,
    },
    command: 'bash main.sh',
  },
}
