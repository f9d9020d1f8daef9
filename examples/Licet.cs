using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

/// <summary>Asks Licet whether a license key may run here. .NET, Mono or Unity; see README.md.</summary>
public sealed class Licet : IDisposable
{
    public enum State { Valid, Grace, Refused, Unreachable }

    public sealed class Answer
    {
        public State State;
        /// <summary>For the user to read.</summary>
        public string Message;
        public bool MayRun { get { return State == State.Valid || State == State.Grace; } }
        /// <summary>When to ask again, in seconds since 1970; 0 if the program may not run.</summary>
        public long CheckAfter;
        internal int PauseSeconds, Status;
        internal string Lease;
        internal Dictionary<string, string> Claims = new Dictionary<string, string>();

        /// <summary>The value as text, "true" for one without a value; null if the license has none. Needs public keys.</summary>
        public string Entitlement(string name)
        {
            string text;
            // As it is written: within quotes, and without escapes.
            if (!Claims.TryGetValue("entitlements", out text) || !Regex.IsMatch(text, "^\"[^\"\\\\]*\"\\z")) return null;
            var parts = text.Substring(1, text.Length - 2).Split(' ').Where(part => Regex.IsMatch(part, "^[^=]+(=.+)?\\z"));
            var pair = parts.Select(part => part.Split(new[] { '=' }, 2)).FirstOrDefault(found => found[0] == name);
            return pair == null ? null : pair.Length == 2 ? pair[1] : "true";
        }
    }

    public string Url, ProductVersion, LicenseKey;
    public int ProductId;
    /// <summary>Where the time of the last good answer is kept; with public keys, the lease.</summary>
    public string MarkFile;
    /// <summary>KID:N of one or two RS256 keys, with a space between. With them only signed answers count.</summary>
    public string PublicKeys = "";
    /// <summary>In place of the id of the installation; README.md says when.</summary>
    public string Hwid = "";
    public int TimeoutSeconds = 10, RetrySeconds = 2, GraceHours = 72;
    /// <summary>Gets each later answer, on another thread; README.md shows a use.</summary>
    public Action<Answer> OnAnswer;
    CancellationTokenSource background;

    /// <summary>The buyer's next step after a refusal, by the message of the service.</summary>
    static readonly Dictionary<string, string> Advice = new Dictionary<string, string>
    {
        { "License not found or invalid", "Copy the key from your purchase again, and check that it is for this program." },
        { "License is deactivated", "Ask the seller of the program for the reason." },
        { "License has expired", "Renew it with the seller of the program, and start the program again." },
        { "Max IPs reached", "Other addresses use all its slots. Free one on your customer page, or ask the seller." },
        { "Max HWIDs reached", "Other machines use all its slots. Free one on your customer page, or ask the seller." },
        { "IP address is blacklisted", "The seller of the program has blocked it. Ask the seller for the reason." },
        { "Hardware ID is blacklisted", "The seller of the program has blocked it. Ask the seller for the reason." },
    };

    const string Text = "\"(?:[^\"\\\\]|\\\\.)*\"";

    /// <summary>Asks again from time to time until Dispose, if the program may run.</summary>
    /// <exception cref="ArgumentException">The url or a public key is none.</exception>
    public Task<Answer> Check()
    {
        return Start(false);
    }

    /// <summary>Checks, and moves the license here if no slot is free. Only for a command of a person; README.md says more.</summary>
    public Task<Answer> Move()
    {
        return Start(true);
    }

    /// <summary>Ends the asking from time to time.</summary>
    public void Dispose()
    {
        EndLast(null);
    }

    void EndLast(CancellationTokenSource next)
    {
        var last = Interlocked.Exchange(ref background, next);
        if (last != null) last.Cancel();
    }

    Task<Answer> Start(bool takesOver)
    {
        if (!Regex.IsMatch(Url ?? "", "^https?://.", RegexOptions.IgnoreCase))
            throw new ArgumentException("'" + Url + "' is no address of a service; url has the form https://license.example.com");
        foreach (var key in PublicKeys == "" ? new string[0] : PublicKeys.Split(' '))
        {
            if (Regex.IsMatch(key, "^[A-Za-z0-9_.-]{1,64}:[A-Za-z0-9_-]{342}\\z")) continue;
            const string Form = "it has the form KID:KEY, where KEY is 342 characters (RS256, the rs- key)";
            throw new ArgumentException("'" + key + "' is no public key; " + Form);
        }
        if (string.IsNullOrWhiteSpace(LicenseKey))
        {
            const string Message = "License refused: no license key is set. "
                + "Enter the key from your purchase in the configuration, and start the program again.";
            return Task.FromResult(new Answer { State = State.Refused, Message = Message });
        }
        if (Hwid != "") return Start(Hwid, takesOver);
        var file = Path.Combine(Path.GetDirectoryName(MarkFile) ?? "", "licet-id");
        string problem;
        try
        {
            var id = InstallationId(file);
            if (Regex.IsMatch(id, "^[0-9a-f]{32}\\z")) return Start(id, takesOver);
            problem = " does not hold the id of an installation. Restore the file, or delete it: then this counts as a new installation.";
        }
        catch (Exception)
        {
            problem = " cannot be read or written: it keeps the id of this installation. Check the permissions and the free space there.";
        }
        return Task.FromResult(new Answer { State = State.Unreachable, Message = file + problem });
    }

    async Task<Answer> Start(string hwid, bool takesOver)
    {
        var own = new CancellationTokenSource();
        EndLast(own);
        var lease = takesOver || PublicKeys == "" ? null : CountingLease(null, Now(), hwid);
        var answer = lease == null ? await Decide(hwid, takesOver).ConfigureAwait(false) : Good(State.Valid, "License is valid", lease);
        if (answer.MayRun) AskInBackground(hwid, lease == null ? NextTime(answer) : 0, own.Token);
        return answer;
    }

    void AskInBackground(string hwid, long time, CancellationToken end)
    {
        Task.Run(() => AskAgain(hwid, time, end));
    }

    async Task AskAgain(string hwid, long time, CancellationToken end)
    {
        try
        {
            for (var state = State.Valid; state != State.Refused; )
            {
                // Looks each hour: a machine sleeps, a clock is set.
                for (long left; (left = time - Now()) > 0; )
                    await Task.Delay(TimeSpan.FromSeconds(Math.Min(left, 3600)), end).ConfigureAwait(false);
                end.ThrowIfCancellationRequested();
                var answer = await Decide(hwid, false).ConfigureAwait(false);
                end.ThrowIfCancellationRequested();
                try { if (OnAnswer != null) OnAnswer(answer); }
                catch (Exception problem) { Console.Error.WriteLine(problem); } // It does not end the asking.
                state = answer.State;
                time = NextTime(answer);
            }
        }
        catch (OperationCanceledException) { }
    }

    static long NextTime(Answer answer)
    {
        var counts = answer.State == State.Valid && answer.CheckAfter > Now();
        return counts ? answer.CheckAfter : Now() + Early(3600);
    }

    /// <summary>Less a random part of up to a tenth, so that not all installations ask at once.</summary>
    static long Early(long seconds)
    {
        return seconds - seconds * BitConverter.ToUInt16(Draw(), 0) / 655360;
    }

    static long Now()
    {
        return DateTimeOffset.UtcNow.ToUnixTimeSeconds();
    }

    /// <summary>The earlier one of both claims.</summary>
    static long CheckAfter(Dictionary<string, string> claims, long otherwise)
    {
        var time = Time(claims, "checkAfter", otherwise);
        return Math.Min(time, Time(claims, "entitlementsUntil", time));
    }

    static long Time(Dictionary<string, string> claims, string name, long otherwise)
    {
        string value;
        return claims.TryGetValue(name, out value) && Regex.IsMatch(value, "^[0-9]{1,15}\\z") ? long.Parse(value) : otherwise;
    }

    /// <summary>An answer that lets the program run, by the claims of a response or a lease.</summary>
    static Answer Good(State state, string message, Dictionary<string, string> claims)
    {
        return new Answer { State = state, Message = message, Claims = claims, CheckAfter = CheckAfter(claims, Now() + Early(86400)) };
    }

    /// <summary>Reads the id of this installation; draws it at the first start. It survives updates and new containers.</summary>
    static string InstallationId(string file)
    {
        if (!File.Exists(file))
        {
            var id = Hex(Draw());
            var draft = file + "." + id + ".tmp";
            try
            {
                File.WriteAllText(draft, id);
                // Unlike a rename, a link never replaces the id of another process. Windows has no libc; its move replaces none either.
                try { link(draft, file); } catch (Exception) { }
                if (!File.Exists(file)) File.Move(draft, file);
            }
            catch (IOException) when (File.Exists(file)) { } // Another process was first.
            finally { File.Delete(draft); }
        }
        return File.ReadAllText(file).Trim();
    }

    [DllImport("libc")]
    static extern int link(string from, string to);

    static byte[] Draw()
    {
        var random = new byte[16];
        using (var source = RandomNumberGenerator.Create()) source.GetBytes(random);
        return random;
    }

    async Task<Answer> Decide(string hwid, bool takesOver)
    {
        var nonce = Base64url(Draw());
        var keys = PublicKeys.Split(' ');
        var answer = await Ask(hwid, nonce, keys[0], takesOver).ConfigureAwait(false);
        if (answer.State == State.Unreachable && answer.PauseSeconds <= 10)
        {
            await Task.Delay(answer.PauseSeconds * 1000).ConfigureAwait(false);
            // 400 may mean that the service no longer has the first key.
            answer = await Ask(hwid, nonce, answer.Status == 400 ? keys.Last() : keys[0], takesOver).ConfigureAwait(false);
        }
        var now = Now();
        double hours = 0;
        var lease = new Dictionary<string, string>();
        try
        {
            if (answer.State == State.Refused) File.Delete(MarkFile);
            if (PublicKeys != "")
            {
                lease = CountingLease(answer, now, hwid) ?? lease;
                hours = (Time(lease, "exp", now) - now) / 3600.0;
            }
            else
            {
                if (answer.State == State.Valid) File.WriteAllText(MarkFile, Mark(now, hwid));
                var mark = File.ReadAllText(MarkFile).Trim();
                var time = long.Parse(mark.Split(' ')[0]);
                if (mark == Mark(time, hwid)) hours = GraceHours - Math.Abs(now - time) / 3600.0;
            }
        }
        catch (Exception) { } // No mark that can be read or written: no grace.
        if (answer.State != State.Unreachable) return answer;
        // The service signs responses of these statuses: no fault of the network.
        var isUnsigned = PublicKeys != "" && (answer.Status == 200 || answer.Status == 400);
        var problem = (isUnsigned ? "The response has no valid signature of this service (" : "The license service cannot be reached (")
            + answer.Message + "). ";
        var advice = isUnsigned ? "If this continues, ask the seller of the program." : "Check the network connection and try again.";
        return hours > 0
            ? Good(State.Grace, problem + "The last good answer counts for " + Math.Ceiling(hours) + " h more.", lease)
            : new Answer { State = State.Unreachable, Message = problem + advice };
    }

    /// <summary>
    /// Keeps the answer's lease, or the latest time seen. Returns the claims of a lease that counts, or null. Without an
    /// answer, a lease counts until its time to ask again.
    /// </summary>
    Dictionary<string, string> CountingLease(Answer answer, long now, string hwid)
    {
        try
        {
            var isNew = answer != null && answer.State == State.Valid;
            var kept = (isNew ? answer.Lease + " 0" : File.ReadAllText(MarkFile).Trim()).Split(' ');
            var lease = Verified(kept[0], "licet-lease+jwt", Expected(hwid));
            long issued = long.Parse(lease["iat"]), expires = long.Parse(lease["exp"]);
            var seen = Math.Max(issued, long.Parse(kept[1]));
            // The clock may be a day wrong: time zones differ that much.
            var counts = now >= seen - 86400 && now < expires && (answer != null || now < CheckAfter(lease, 0));
            if (isNew || counts && now > seen) KeepLease(kept[0], isNew ? issued : now);
            return counts ? lease : null;
        }
        catch (Exception) { return null; } // No lease that can be read.
    }

    void KeepLease(string lease, long latest)
    {
        try
        {
            File.WriteAllText(MarkFile + ".tmp", "");
            try { chmod(MarkFile + ".tmp", 6 * 64); } catch (Exception) { } // 0600; Windows has no libc.
            File.WriteAllText(MarkFile + ".tmp", lease + " " + latest);
            if (File.Exists(MarkFile)) File.Replace(MarkFile + ".tmp", MarkFile, null);
            else File.Move(MarkFile + ".tmp", MarkFile);
        }
        catch (Exception) { } // Then the program does not start without the network.
    }

    [DllImport("libc")]
    static extern int chmod(string path, int mode);

    Dictionary<string, string> Expected(string hwid)
    {
        using (var sha = SHA256.Create())
        {
            var sub = Base64url(sha.ComputeHash(Encoding.UTF8.GetBytes(LicenseKey)));
            return new Dictionary<string, string> { { "aud", Json(ProductId.ToString()) }, { "sub", Json(sub) }, { "hwid", Json(hwid) } };
        }
    }

    /// <summary>Returns the claims of a JWS that a pinned key signed and that has the type and the claims expected, or none.</summary>
    Dictionary<string, string> Verified(string jws, string typ, Dictionary<string, string> expected)
    {
        var none = new Dictionary<string, string>();
        try
        {
            var parts = jws.Split('.');
            if (parts.Length != 3) return none;
            var header = Members(parts[0]);
            foreach (var pinned in PublicKeys.Split(' ').Select(key => key.Split(':')))
            {
                // The pinned key decides about the algorithm, never the header. Mono and Unity have no ES256.
                var own = new Dictionary<string, string> { { "alg", Json("RS256") }, { "kid", Json(pinned[0]) }, { "typ", Json(typ) } };
                if (header.Count != own.Count || !own.All(header.Contains)) continue;
                byte[] modulus = FromBase64url(pinned[1]), signature = FromBase64url(parts[2]);
                if (modulus.Length != 256 || modulus[0] < 128 || signature.Length != 256) continue;
                // Mono takes a signature of any range.
                if (string.CompareOrdinal(BitConverter.ToString(signature), BitConverter.ToString(modulus)) >= 0) continue;
                using (var rsa = RSA.Create())
                {
                    rsa.ImportParameters(new RSAParameters { Modulus = modulus, Exponent = new byte[] { 1, 0, 1 } });
                    var signed = Encoding.UTF8.GetBytes(parts[0] + "." + parts[1]);
                    if (!rsa.VerifyData(signed, signature, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1)) continue;
                }
                var claims = Members(parts[1]);
                if (expected.All(claims.Contains)) return claims;
            }
        }
        catch (Exception) { } // Forged: it does not count.
        return none;
    }

    /// <summary>The members of a JSON object of texts, numbers and the like, as they are written.</summary>
    static Dictionary<string, string> Members(string part)
    {
        var json = Encoding.UTF8.GetString(FromBase64url(part));
        var members = new Dictionary<string, string>();
        var end = 0;
        foreach (Match member in Regex.Matches(json, "\\G[{,]\\s*\"(\\w+)\"\\s*:\\s*(" + Text + "|[\\w.+-]+)\\s*"))
        {
            members[member.Groups[1].Value] = member.Groups[2].Value;
            end = member.Index + member.Length;
        }
        if (json.Substring(end) != "}") throw new FormatException("no flat object");
        return members;
    }

    static string Base64url(byte[] bytes)
    {
        return Convert.ToBase64String(bytes).TrimEnd('=').Replace('+', '-').Replace('/', '_');
    }

    static byte[] FromBase64url(string text)
    {
        var padding = new string('=', (4 - text.Length % 4) % 4);
        var bytes = Convert.FromBase64String(text.Replace('-', '+').Replace('_', '/') + padding);
        // .NET ignores blanks, and bits that are left over.
        if (Base64url(bytes) != text) throw new FormatException("no base64url");
        return bytes;
    }

    async Task<Answer> Ask(string hwid, string nonce, string key, bool takesOver)
    {
        var body = "{\"licenseKey\":" + Json(LicenseKey) + ",\"productId\":" + ProductId
            + ",\"hwid\":" + Json(hwid) + ",\"productVersion\":" + Json(ProductVersion)
            + ",\"operatingSystem\":" + Json(Environment.OSVersion.Platform.ToString())
            + ",\"osVersion\":" + Json(Environment.OSVersion.Version.ToString())
            + ",\"osArchitecture\":" + Json(RuntimeInformation.OSArchitecture.ToString())
            + (takesOver ? ",\"takeOver\":true" : "")
            + (PublicKeys == "" ? "" : ",\"nonce\":" + Json(nonce) + ",\"kid\":" + Json(key.Split(':')[0]) + ",\"lease\":true")
            + "}";
        try
        {
            using (var handler = new HttpClientHandler { AllowAutoRedirect = false })
            using (var http = new HttpClient(handler) { Timeout = TimeSpan.FromSeconds(TimeoutSeconds) })
            {
                http.DefaultRequestHeaders.Add("User-Agent", "licet-client/2");
                var content = new StringContent(body, Encoding.UTF8, "application/json");
                // Answers when the whole body is there, within the time-out.
                var response = await http.PostAsync(Url + "/api/v1/validate", content).ConfigureAwait(false);
                var status = (int)response.StatusCode;
                var text = await response.Content.ReadAsStringAsync().ConfigureAwait(false);
                var claims = PublicKeys == "" ? Unsigned(text, status) : Signed(text, hwid, nonce);
                string valid, message;
                claims.TryGetValue("valid", out valid);
                claims.TryGetValue("message", out message);
                message = message == null ? "" : Regex.Unescape(message.Substring(1, message.Length - 2));
                var lease = Regex.Match(text, "\"lease\"\\s*:\\s*\"([^\"]*)\"").Groups[1].Value;
                if (valid == "true")
                {
                    var good = Good(State.Valid, message, claims);
                    good.Lease = lease;
                    return good;
                }
                string advice;
                if (Advice.TryGetValue(message, out advice)) message += ". " + advice;
                if (valid == "false") return new Answer { State = State.Refused, Message = "License refused: " + message };
                var retryAfter = response.Headers.RetryAfter == null ? null : response.Headers.RetryAfter.Delta;
                var pauseSeconds = retryAfter.HasValue ? (int)retryAfter.Value.TotalSeconds : RetrySeconds;
                return new Answer { State = State.Unreachable, Message = "HTTP " + status, PauseSeconds = pauseSeconds, Status = status };
            }
        }
        catch (OperationCanceledException) { return Unreachable("time-out"); }
        catch (Exception problem) { return Unreachable((problem.InnerException ?? problem).Message); }
    }

    Answer Unreachable(string why)
    {
        return new Answer { State = State.Unreachable, Message = why, PauseSeconds = RetrySeconds };
    }

    static Dictionary<string, string> Unsigned(string text, int status)
    {
        var verdict = Regex.Match(text, "\"valid\"\\s*:\\s*(true|false)");
        var message = Regex.Match(text, "\"message\"\\s*:\\s*(" + Text + ")");
        var claims = new Dictionary<string, string>();
        if (!text.StartsWith("{") || !verdict.Success || !message.Success) return claims;
        var valid = verdict.Groups[1].Value;
        if (valid == "true" ? status == 200 : status == 400 || status == 413) claims["valid"] = valid;
        claims["message"] = message.Groups[1].Value;
        return claims;
    }

    Dictionary<string, string> Signed(string text, string hwid, string nonce)
    {
        var expected = Expected(hwid);
        expected["nonce"] = Json(nonce);
        return Verified(Regex.Match(text, "\"signed\"\\s*:\\s*\"([^\"]*)\"").Groups[1].Value, "licet-validation+jwt", expected);
    }

    static string Json(string text)
    {
        const string Short = "\b\t\n\f\r\"\\"; // as the service escapes them
        return "\"" + Regex.Replace(text, "[\"\\\\\u0000-\u001f]", found =>
        {
            var at = Short.IndexOf(found.Value[0]);
            return at < 0 ? "\\u" + ((int)found.Value[0]).ToString("x4") : "\\" + "btnfr\"\\"[at];
        }) + "\"";
    }

    string Mark(long time, string hwid)
    {
        return time + " " + Sha256(time + "\n" + LicenseKey + "\n" + ProductId + "\n" + hwid);
    }

    public static string HardwareId()
    {
        var machine = File.Exists("/etc/machine-id") ? File.ReadAllText("/etc/machine-id").Trim() : "";
        return Sha256(machine + "\n" + Environment.MachineName + "\n" + Environment.UserName);
    }

    static string Sha256(string text)
    {
        using (var sha = SHA256.Create())
            return Hex(sha.ComputeHash(Encoding.UTF8.GetBytes(text)));
    }

    static string Hex(byte[] bytes)
    {
        return BitConverter.ToString(bytes).Replace("-", "").ToLowerInvariant();
    }
}

/// <summary>Tries it out; no part of your program.</summary>
static class Demo
{
    static int Main()
    {
        Func<string, string> read = Environment.GetEnvironmentVariable;
        int product;
        if (read("LICET_URL") == null || read("LICET_KEY") == null || !int.TryParse(read("LICET_PRODUCT_ID"), out product))
        {
            Console.Error.WriteLine("Set LICET_URL, LICET_PRODUCT_ID (a number) and LICET_KEY.");
            return 3;
        }
        var licet = new Licet
        {
            Url = read("LICET_URL"),
            ProductId = product,
            ProductVersion = "1.0.0",
            LicenseKey = read("LICET_KEY"),
            MarkFile = read("LICET_MARK") ?? "licet.mark",
            PublicKeys = read("LICET_PUBLIC_KEYS") ?? "",
            TimeoutSeconds = int.Parse(read("LICET_TIMEOUT_SECONDS") ?? "10"),
            RetrySeconds = int.Parse(read("LICET_RETRY_SECONDS") ?? "2"),
        };
        try
        {
            var answer = (read("LICET_MOVE") == "1" ? licet.Move() : licet.Check()).Result;
            Console.WriteLine(answer.Message);
            string name = read("LICET_ENTITLEMENT"), value = answer.Entitlement(name);
            if (name != null) Console.WriteLine(value == null ? name : name + "=" + value);
            // Mono may wait a minute for an idle thread where Main returns.
            Environment.Exit(answer.MayRun ? 0 : answer.State == Licet.State.Refused ? 1 : 2);
        }
        catch (ArgumentException wrong)
        {
            Console.Error.WriteLine(wrong.Message);
        }
        return 3;
    }
}
