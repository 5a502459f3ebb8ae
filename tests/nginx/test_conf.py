"""nginx as serve configures it, with no worker: what it answers by itself,
and what it does between a client and an app in a sandbox."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PORT = 18390
DOMAIN = 'box.example'
KEY = '8000-s00000abcdefghjkmnpqrs-tok1'


class App(threading.Thread):
    """A program behind a preview's socket: tells what it got."""

    def __init__(self, path, headers=b''):
        super().__init__(daemon=True)
        self.headers = headers
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        os.chmod(path, 0o666)
        self.socket.listen(8)

    def run(self):
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:
                return
            with peer:
                self.answer(peer)

    def answer(self, peer):
        got = b''
        while b'\r\n\r\n' not in got:
            got += peer.recv(65536)
        head, body = got.split(b'\r\n\r\n', 1)
        length = re.search(rb'Content-Length: (\d+)', head, re.I)
        while length and len(body) < int(length.group(1)):
            body += peer.recv(65536)
        if b'Upgrade: websocket' in head:
            peer.sendall(b'HTTP/1.1 101 Switching Protocols\r\n'
                         b'Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
            peer.sendall(peer.recv(100).upper())
            return
        text = head + b'\r\n\r\n' + body
        peer.sendall(b'HTTP/1.1 200 OK\r\n' + self.headers
                     + b'Content-Length: %d\r\n\r\n' % len(text) + text)


MODULES = '/usr/lib/nginx/modules'


class Conf(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix='warren-nginx-')
        cls.run_dir = os.path.join(cls.data, 'run')
        cls.preview = os.path.join(cls.run_dir, 'preview')
        os.makedirs(cls.preview)
        for path in (cls.data, cls.run_dir, cls.preview):
            os.chmod(path, 0o755)
        subprocess.run([os.path.join(HERE, 'render.sh'), cls.data,
                        cls.run_dir, str(PORT), DOMAIN], check=True,
                       capture_output=True)
        cls.nginx = subprocess.Popen(
            ['nginx', '-e', f'{cls.data}/nginx/error.log', '-p',
             f'{cls.data}/nginx', '-c', f'{cls.data}/nginx/nginx.conf'],
            env={**os.environ, 'TZ': 'UTC'})
        for _ in range(100):
            try:
                socket.create_connection(('127.0.0.1', PORT), 1).close()
                break
            except OSError:
                time.sleep(0.05)

    @classmethod
    def tearDownClass(cls):
        cls.nginx.send_signal(signal.SIGTERM)
        cls.nginx.wait(10)
        shutil.rmtree(cls.data)

    def app(self, key=KEY, headers=b''):
        path = os.path.join(self.preview, key + '.sock')
        app = App(path, headers)
        app.start()
        self.addCleanup(os.unlink, path)
        self.addCleanup(app.socket.close)

    def call(self, host, path='/', method='GET', body=None, headers=None):
        link = http.client.HTTPConnection('127.0.0.1', PORT, timeout=10)
        self.addCleanup(link.close)
        link.request(method, path, body, {'Host': host, **(headers or {})})
        answer = link.getresponse()
        answer.text = answer.read().decode()
        return answer

    def assert_error(self, answer, status, code):
        self.assertEqual(answer.status, status, answer.text)
        error = json.loads(answer.text)
        self.assertEqual(error['httpStatus'], status)
        self.assertEqual(error['code'], code)
        self.assertEqual(error['context'], {})
        self.assertEqual(error['requestId'], answer.headers['X-Request-Id'])
        self.assertRegex(error['timestamp'],
                         r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$')

    def test_errors_of_nginx_have_the_shape_of_the_api(self):
        self.assert_error(self.call(DOMAIN, '/v1/health'), 502,
                          'SERVICE_UNAVAILABLE')
        self.assert_error(self.call(DOMAIN, '/nothing'), 404, 'NOT_FOUND')
        self.assert_error(self.call(DOMAIN, '/v1/%00'), 400, 'BAD_REQUEST')
        self.assert_error(
            self.call(DOMAIN, '/v1/x', headers={'X-Long': 'a' * 40000}), 431,
            'BAD_REQUEST')
        self.assert_error(
            self.call(DOMAIN, '/v1/x', 'POST',
                      headers={'Content-Length': str(1 << 40)}), 413,
            'BODY_TOO_LARGE')

    def test_the_front_page_says_what_this_is(self):
        answer = self.call(DOMAIN)
        self.assertEqual(answer.status, 200)
        self.assertIn('<title>Warren</title>', answer.text)

    def test_the_way_is_that_of_the_path_as_it_was_sent(self):
        # 502: it went to a worker, which would answer.
        for path in ('/v1/sandboxes/..%2f..', '/v1/sandboxes/%2e%2e/%2e%2e/',
                     '/v1/%2e%2e/', '/v1/sandboxes/x/../../../'):
            with self.subTest(path=path):
                self.assert_error(self.call(DOMAIN, path), 502,
                                  'SERVICE_UNAVAILABLE')
        # Of raw files nginx takes any length, whatever their names.
        for path in ('a', '%2e%2e/%2e%2e/a', 'a/../..%2Fb', '/tmp/../a'):
            with self.subTest(path=path):
                self.assert_error(
                    self.call(DOMAIN, f'/v1/sandboxes/x/files/{path}', 'PUT',
                              headers={'Content-Length': str(1 << 40)}),
                    502, 'SERVICE_UNAVAILABLE')
        for path in ('/x/../v1/health', '/%76%31/health', '/_warren_raw',
                     '/_warren_api', '/_warren_page', '/_warren_error',
                     '/x/..', '/index.html'):
            with self.subTest(path=path):
                self.assert_error(self.call(DOMAIN, path), 404, 'NOT_FOUND')

    def test_any_other_host_is_not_found(self):
        self.app()
        for host in ('evil.example', f'{KEY}.evil.example', f'a.{DOMAIN}',
                     f'{KEY}.x.{DOMAIN}', f'123456-{KEY[5:]}.{DOMAIN}',
                     f'0-{KEY[5:]}.{DOMAIN}', f'8000-{KEY[5:-4]}.{DOMAIN}',
                     f'{KEY}-x.{DOMAIN}', f'{KEY[:-4]}to_1.{DOMAIN}',
                     f'{KEY}.boxxexample'):
            with self.subTest(host=host):
                self.assert_error(self.call(host), 404, 'NOT_FOUND')

    def test_a_request_reaches_the_app_untouched(self):
        self.app()
        answer = self.call(f'{KEY}.{DOMAIN}:{PORT}', '/a//b/%2F/../c?x=%20',
                           'PUT', 'body', {'Authorization': 'Bearer app',
                                           'X-Forwarded-For': '6.6.6.6'})
        self.assertEqual(answer.status, 200)
        lines = answer.text.split('\r\n')
        self.assertEqual(lines[0], 'PUT /a//b/%2F/../c?x=%20 HTTP/1.1')
        self.assertIn('Host: localhost:8000', lines)
        self.assertIn('Authorization: Bearer app', lines)
        self.assertIn('X-Forwarded-For: 127.0.0.1', lines)
        self.assertIn('X-Forwarded-Proto: http', lines)
        self.assertIn(f'X-Forwarded-Host: {KEY}.{DOMAIN}:{PORT}', lines)
        self.assertNotIn('6.6.6.6', answer.text)
        self.assertEqual(lines[-1], 'body')

    def test_an_answer_reaches_the_client_untouched(self):
        self.app(headers=b'Server: mine\r\nDate: then\r\n'
                 b'Location: http://localhost:8000/x\r\n')
        answer = self.call(f'{KEY}.{DOMAIN}')
        self.assertEqual(answer.headers['Server'], 'mine')
        self.assertEqual(answer.headers['Date'], 'then')
        self.assertEqual(answer.headers['Location'],
                         'http://localhost:8000/x')

    def test_an_app_cannot_redirect_nginx_inside(self):
        for target in (b'/_warren_error', b'@preview_fallback', b'/'):
            key = KEY[:-1] + str(len(target) % 10)
            self.app(key, b'X-Accel-Redirect: ' + target + b'\r\n')
            answer = self.call(f'{key}.{DOMAIN}')
            self.assertEqual(answer.status, 200)
            self.assertTrue(answer.text.startswith('GET / '), answer.text)

    def test_host_names_match_in_any_case(self):
        self.app()
        self.assertEqual(self.call(f'{KEY.upper()}.{DOMAIN.upper()}').status,
                         200)

    def test_a_websocket_reaches_the_app(self):
        self.app()
        with socket.create_connection(('127.0.0.1', PORT), 10) as link:
            link.sendall(f'GET / HTTP/1.1\r\nHost: {KEY}.{DOMAIN}\r\n'
                         'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
                         .encode())
            self.assertIn(b'101 Switching', link.recv(4096))
            link.sendall(b'hello')
            self.assertEqual(link.recv(100), b'HELLO')

    def test_tokens_are_not_in_the_logs(self):
        self.app()
        self.call(f'{KEY}.{DOMAIN}', '/logged')
        time.sleep(0.2)
        text = ''
        for name in ('preview.log', 'access.log', 'error.log'):
            with open(f'{self.data}/nginx/{name}', encoding='utf-8') as file:
                text += file.read()
        self.assertIn('/logged', text)
        self.assertNotIn('tok1', text)

    def test_the_site_for_a_real_domain_is_valid(self):
        for key, usage in (('privkey', 'rsa:2048'),):
            subprocess.run(
                ['openssl', 'req', '-x509', '-newkey', usage, '-nodes',
                 '-subj', '/CN=x', '-days', '1', '-keyout',
                 f'{self.data}/{key}.pem', '-out',
                 f'{self.data}/fullchain.pem'], check=True,
                capture_output=True)
        with open(f'{ROOT}/nginx/site.conf.example',
                  encoding='utf-8') as file:
            site = file.read()
        site = site.replace('/var/lib/warren', self.data).replace(
            '/etc/ssl/warren', self.data)
        path = f'{self.data}/site.conf'
        with open(path, 'w', encoding='utf-8') as file:
            file.write(f'load_module {MODULES}/ndk_http_module.so;\n'
                       f'load_module {MODULES}/ngx_http_lua_module.so;\n'
                       f'pid {self.data}/site.pid;\nevents {{}}\n'
                       f'http {{\n{site}}}\n')
        done = subprocess.run(['nginx', '-t', '-e', f'{self.data}/site.log',
                               '-p', self.data, '-c', path],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)


unittest.main()
