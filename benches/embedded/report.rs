//! Medians with the worst beside them, as a table for people or as JSON.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    PerSecond,
    Millis,
    Mebibytes,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::PerSecond => "tasks/s",
            Unit::Millis => "ms",
            Unit::Mebibytes => "MiB",
        }
    }
}

/// One figure, measured several times.
pub struct Row {
    what: &'static str,
    unit: Unit,
    figures: Vec<f64>,
}

impl Row {
    pub fn new(what: &'static str, unit: Unit) -> Row {
        Row { what, unit, figures: Vec::new() }
    }

    pub fn add(&mut self, figure: f64) {
        self.figures.push(figure);
        self.figures.sort_by(f64::total_cmp);
    }

    fn median(&self) -> f64 {
        self.figures.get(self.figures.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn worst(&self) -> f64 {
        let end = if self.unit == Unit::PerSecond { self.figures.first() } else { self.figures.last() };
        end.copied().unwrap_or(f64::NAN)
    }
}

pub struct Report {
    pub rows: Vec<Row>,
    pub json: bool,
}

impl Report {
    /// The tree's share of each ceiling: plain SQL, the store's calls, and for Python the echo.
    fn shares(&self) -> [f64; 3] {
        let [sql, store, tree, echo, hello] = [0, 1, 2, 7, 8].map(|n| self.rows[n].median());
        [tree / sql, tree / store, hello / echo]
    }

    fn to_json(&self) -> serde_json::Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let (median, worst) = (row.median(), row.worst());
                serde_json::json!({ "what": row.what, "unit": row.unit.name(), "median": median, "worst": worst })
            })
            .collect();
        let [of_sql, of_store, of_echo] = self.shares();
        let shares = serde_json::json!({ "plain_sql": of_sql, "store": of_store, "python_echo": of_echo });
        serde_json::json!({ "figures": rows, "shares": shares, "load": load() })
    }
}

/// What else the machine does: figures of a busy machine are to be read with care.
fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.json {
            return write!(f, "{:#}", self.to_json());
        }
        writeln!(f, "{:34} {:>10} {:>10}", "", "median", "worst")?;
        for row in &self.rows {
            let digits = if row.unit == Unit::PerSecond { 0 } else { 2 };
            let (median, worst) = (row.median(), row.worst());
            writeln!(f, "{:34} {median:>10.digits$} {worst:>10.digits$} {}", row.what, row.unit.name())?;
        }
        let [of_sql, of_store, of_echo] = self.shares();
        writeln!(f, "the tree's share: {of_sql:.2} of plain SQL, {of_store:.2} of the store's calls")?;
        writeln!(f, "Python's share: {of_echo:.2} of the raw echo")?;
        write!(f, "load of the machine: {}", load())
    }
}
