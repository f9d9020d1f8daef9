using System;
using System.IO;
using System.Net.Http;
using System.Runtime.InteropServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading.Tasks;

/// <summary>Asks Licet whether a license key may run here. .NET, Mono or Unity; see README.md.</summary>
public sealed class Licet
{
    public enum State { Valid, Grace, Refused, Unreachable }

    public sealed class Answer
    {
        public State State;
        /// <summary>For the user to read.</summary>
        public string Message;
        public bool MayRun { get { return State == State.Valid || State == State.Grace; } }
        internal int PauseSeconds;
    }

    public string Url, ProductVersion, LicenseKey;
    public int ProductId;
    /// <summary>Where the time of the last good answer is kept.</summary>
    public string MarkFile;
    public int TimeoutSeconds = 10, RetrySeconds = 2, GraceHours = 72;

    public async Task<Answer> Check()
    {
        var hwid = HardwareId();
        var answer = await Ask(hwid).ConfigureAwait(false);
        if (answer.State == State.Unreachable && answer.PauseSeconds <= 10)
        {
            await Task.Delay(answer.PauseSeconds * 1000).ConfigureAwait(false);
            answer = await Ask(hwid).ConfigureAwait(false);
        }
        var now = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        double hours = 0;
        try
        {
            if (answer.State == State.Valid) File.WriteAllText(MarkFile, Mark(now, hwid));
            if (answer.State == State.Refused) File.Delete(MarkFile);
            var mark = File.ReadAllText(MarkFile).Trim();
            var time = long.Parse(mark.Split(' ')[0]);
            if (mark == Mark(time, hwid)) hours = GraceHours - Math.Abs(now - time) / 3600.0;
        }
        catch (Exception) { } // No mark that can be read or written: no grace.
        if (answer.State != State.Unreachable) return answer;
        var problem = "The license service cannot be reached (" + answer.Message + "). ";
        return hours > 0
            ? new Answer { State = State.Grace, Message = problem + "The last good answer counts for " + Math.Ceiling(hours) + " h more." }
            : new Answer { State = State.Unreachable, Message = problem + "Check the network connection and try again." };
    }

    async Task<Answer> Ask(string hwid)
    {
        var body = "{\"licenseKey\":" + Json(LicenseKey) + ",\"productId\":" + ProductId
            + ",\"hwid\":" + Json(hwid) + ",\"productVersion\":" + Json(ProductVersion)
            + ",\"operatingSystem\":" + Json(Environment.OSVersion.Platform.ToString())
            + ",\"osVersion\":" + Json(Environment.OSVersion.Version.ToString())
            + ",\"osArchitecture\":" + Json(RuntimeInformation.OSArchitecture.ToString()) + "}";
        try
        {
            using (var handler = new HttpClientHandler { AllowAutoRedirect = false })
            using (var http = new HttpClient(handler) { Timeout = TimeSpan.FromSeconds(TimeoutSeconds) })
            {
                http.DefaultRequestHeaders.Add("User-Agent", "licet-client/1");
                var content = new StringContent(body, Encoding.UTF8, "application/json");
                // Answers when the whole body is there, within the time-out.
                var response = await http.PostAsync(Url + "/api/v1/validate", content).ConfigureAwait(false);
                var status = (int)response.StatusCode;
                var text = await response.Content.ReadAsStringAsync().ConfigureAwait(false);
                var verdict = Regex.Match(text, "\"valid\"\\s*:\\s*(true|false)");
                var message = Regex.Match(text, "\"message\"\\s*:\\s*\"((?:[^\"\\\\]|\\\\.)*)\"");
                if (text.StartsWith("{") && verdict.Success && message.Success)
                {
                    var valid = verdict.Groups[1].Value == "true";
                    var said = Regex.Unescape(message.Groups[1].Value);
                    if (valid && status == 200) return new Answer { State = State.Valid, Message = said };
                    if (!valid && (status == 400 || status == 413))
                        return new Answer { State = State.Refused, Message = "License refused: " + said };
                }
                var retryAfter = response.Headers.RetryAfter == null ? null : response.Headers.RetryAfter.Delta;
                return Unreachable("HTTP " + status, retryAfter.HasValue ? (int)retryAfter.Value.TotalSeconds : RetrySeconds);
            }
        }
        catch (OperationCanceledException) { return Unreachable("time-out", RetrySeconds); }
        catch (Exception problem) { return Unreachable((problem.InnerException ?? problem).Message, RetrySeconds); }
    }

    static Answer Unreachable(string why, int pauseSeconds)
    {
        return new Answer { State = State.Unreachable, Message = why, PauseSeconds = pauseSeconds };
    }

    static string Json(string text)
    {
        return "\"" + Regex.Replace(text, "[\"\\\\\u0000-\u001f]", c => "\\u" + ((int)c.Value[0]).ToString("x4")) + "\"";
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
            return BitConverter.ToString(sha.ComputeHash(Encoding.UTF8.GetBytes(text))).Replace("-", "").ToLowerInvariant();
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
        var answer = new Licet
        {
            Url = read("LICET_URL"),
            ProductId = product,
            ProductVersion = "1.0.0",
            LicenseKey = read("LICET_KEY"),
            MarkFile = read("LICET_MARK") ?? "licet.mark",
            TimeoutSeconds = int.Parse(read("LICET_TIMEOUT_SECONDS") ?? "10"),
            RetrySeconds = int.Parse(read("LICET_RETRY_SECONDS") ?? "2"),
        }.Check().Result;
        Console.WriteLine(answer.Message);
        // Mono may wait a minute for an idle thread where Main returns.
        Environment.Exit(answer.MayRun ? 0 : answer.State == Licet.State.Refused ? 1 : 2);
        return 0;
    }
}
