import { render } from 'preact';
import { App } from './app.js';
import { start } from './session.js';
import './style/index.css';

const root = document.getElementById('app');
if (!root) throw new Error('the page has no element for the dashboard');
void start();
render(<App />, root);
