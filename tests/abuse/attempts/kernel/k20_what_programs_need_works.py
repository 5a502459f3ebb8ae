"""K20: what programs need works."""


def attempt(self):
    for user in ('root', 'sandbox'):
        done = self.box.sh(
            'python3 -c "import threading, ssl, multiprocessing, '
            'asyncio, subprocess; asyncio.run(asyncio.sleep(0)); '
            'print(subprocess.run([\'true\']).returncode)"; '
            'node -e "console.log(new Map().size)"; '
            'bash -c "cat <(echo deep) | tr a-z A-Z"', user=user)
        self.assertEqual(done.stdout, '0\n0\nDEEP\n', done)
